"""How the clerk's judgement is learned from labelled messages. Never imported by the clerk."""
