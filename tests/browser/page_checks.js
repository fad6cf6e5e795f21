// What is measured inside the page; every function returns plain data.
({
  overflowing: () => {
    const wide = document.documentElement.scrollWidth > innerWidth;
    const culprits = [...document.querySelectorAll("body *")].filter(
      (e) => !e.closest("svg, .frame") && e.getBoundingClientRect().right > innerWidth + 1);
    return wide ? culprits.slice(0, 5).map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 60)}`) : [];
  },
  brokenImages: () => [...document.images].filter((i) => !i.complete || i.naturalWidth === 0).map((i) => i.alt),
  emptyDrawings: () => [...document.querySelectorAll("svg.figure")].filter((svg) => {
    const box = svg.getBBox();
    return !(box.width > 100 && box.height > 100 && svg.querySelectorAll("path").length > 10);
  }).map((svg) => svg.getAttribute("aria-label")),
  blankCanvases: () => [...document.querySelectorAll("canvas")].filter((canvas) => {
    const { width, height } = canvas, colours = new Set();
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
    for (const pixel of pixels) colours.add(pixel);
    return colours.size < 10;
  }).map((canvas) => canvas.getAttribute("aria-label")),
  deadAnchors: () => [...document.querySelectorAll("a[href^='#']")]
    .filter((a) => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map((a) => a.hash),
  files: () => [...document.querySelectorAll("a:not([href^='#'])")].map((a) => a.href),
  repeatedIds: () => {
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    return ids.filter((id, k) => ids.indexOf(id) !== k).slice(0, 5);
  },
  // text whose contrast to what is painted behind it is below the bound; letters of figures are judged by pictures
  faintText: (bound) => {
    const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((x) => x / 255)
      .map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
      .reduce((sum, x, k) => sum + x * [0.2126, 0.7152, 0.0722][k], 0);
    const behind = (element) => {
      for (let e = element; e; e = e.parentElement) {
        const colour = numbers(getComputedStyle(e).backgroundColor);
        if (colour.length === 3 || colour[3] === 1) return colour;
      }
      return [255, 255, 255];
    };
    const faint = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || element.closest("svg, script, style, button:disabled")) continue;
      const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < bound) faint.add(`${contrast.toFixed(2)}: ${walker.currentNode.textContent.trim().slice(0, 60)}`);
    }
    return [...faint];
  },
  // what of the notation of formulas a reader would still see
  rawMathematics: () => [...document.querySelectorAll("h1, h2, h3, h4, p, li, td, figcaption")]
    .filter((e) => !e.querySelector("a[href^='experiments/']")) // names of files
    .flatMap((e) => e.innerText.match(/.{0,20}(\$|\\[a-z]+|[_^]\{|[A-Za-z][_^]\d|\blam\b|\bDelta\b).{0,20}/g) ?? []),
  formulas: () => ({
    count: document.querySelectorAll(".formula").length,
    raised: [...document.querySelectorAll(".formula sup, .formula sub")].every(
      (e) => e.getBoundingClientRect().height < e.closest("p, li, figcaption, td").getBoundingClientRect().height),
    italic: [...document.querySelectorAll(".formula i")].every((e) => getComputedStyle(e).fontStyle === "italic"),
    serif: [...document.querySelectorAll(".formula")].every((e) => /serif/.test(getComputedStyle(e).fontFamily)),
  }),
})
