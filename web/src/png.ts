// Turns an SVG file into a PNG file.

/** Pixels per CSS pixel, so that texts are sharp on fine screens and in slides. */
const SCALE = 2;

/** Draws an SVG file into a PNG file. */
export async function pngOf(svg: string): Promise<Uint8Array> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser does not allow this page to draw.");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The picture is too large for a PNG file.");
  return new Uint8Array(await blob.arrayBuffer());
}
