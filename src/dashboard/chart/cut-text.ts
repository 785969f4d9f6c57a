/** Returns the text, cut to a width with an ellipsis. */
export function cutTo(text: string, width: number, context: CanvasRenderingContext2D): string {
  const letters = [...text];
  const isCut = () => context.measureText(`${letters.join("")}…`).width > width;
  if (context.measureText(text).width <= width) return text;
  while (letters.length > 1 && isCut()) letters.pop();
  return `${letters.join("")}…`;
}
