/** Putting a file where the browser puts downloads. */

/** How long a browser may take to begin; a link that is let go of earlier saves nothing. */
const PATIENCE = 60_000;

export function saveFile({ name, content }: { name: string; content: Blob }): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), PATIENCE);
}
