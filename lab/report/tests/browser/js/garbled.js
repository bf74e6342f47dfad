// Texts that run from right to left without such letters of their own: foreign letters have reversed them.
(() => {
  const turned = [];
  const rightToLeft = /[\u0590-\u08ff\u202a-\u202e\u2066-\u2069]/;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (rightToLeft.test(text.data) || !text.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    const place = (at) => (range.setStart(text, at), range.setEnd(text, at + 1), range.getBoundingClientRect());
    const letters = [...text.data.matchAll(/\S/g)].map((match) => place(match.index)).filter((rect) => rect.width > 0);
    const first = letters[0];
    const beside = letters.filter((rect) => Math.abs(rect.top - first.top) < 1);
    if (beside.length > 1 && beside[1].left < beside[0].left) turned.push(text.data.trim().slice(0, 40));
  }
  return turned;
})()
