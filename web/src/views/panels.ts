/** The parts of an open task that are loaded with it, beside the editor. */

import "./conversation_view";
import "./ledger_view";
