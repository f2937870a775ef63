import { expect, test } from "vitest";

import { langOf } from "../src/words/script";

test.each([
  ["合同的上限不低于 15 万元。", "en", "zh"],
  ["Acme 的合同：违约金上限", "en", "zh"],
  ["We met 王伟 in Chengdu to talk about the contract.", "en", undefined],
  ["Die Haftung bleibt begrenzt.", "en", undefined],
  ["契約書の上限を確認する。", "en", "ja"],
  ["계약서를 확인합니다", "en", "ko"],
  ["Payment within thirty days", "zh", "en"],
  ["合同", "zh", undefined],
  ["42 %", "zh", undefined],
  ["", "en", undefined],
])("“%s” on a page in %s is %s", (words, page, lang) => {
  expect(langOf(words, page)).toBe(lang);
});
