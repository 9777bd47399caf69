import { expect, it } from "vitest";
import { inPage } from "./hints";

it("puts what the page offers in the place of commands", () => {
  expect(inPage("did you mean `gpus`?")).toBe("did you mean `gpus`?");
  expect(inPage("`khorovod explain spec.storage[0].nfs` lists the fields")).toBe("`Ctrl Space` lists the fields");
  expect(inPage("add a Secret; `khorovod explain s3-upload` shows how to create it")).toBe(
    "add a Secret; open the code of this problem to see how",
  );
  expect(inPage("start a document with `kind: TrainingJob`, or create one with `khorovod init`")).toBe(
    "start a document with `kind: TrainingJob`, or choose an example in Start from…",
  );
});
