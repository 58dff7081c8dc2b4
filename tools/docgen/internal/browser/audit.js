// Returns what is wrong with the page as it is shown now, as a list of sentences.
(() => {
  const problems = [];
  const name = e => {
    const text = (e.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 40);
    return `<${e.localName}${e.id ? ` id="${e.id}"` : ''}${e.className && e.className.baseVal === undefined ? ` class="${e.className}"` : ''}> ${text}`;
  };
  document.querySelectorAll('details').forEach(d => { d.open = true; });

  // No horizontal overflow, and what scrolls is for the keyboard too.
  const root = document.documentElement;
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1)
      .filter(e => { for (let p = e.parentElement; p; p = p.parentElement) if (scrolls(p) || getComputedStyle(p).overflowX === 'hidden') return false; return true; });
    problems.push(`it is ${root.scrollWidth - root.clientWidth} px too wide: ${wide.slice(-1).map(name)}`);
  }
  for (const e of document.body.querySelectorAll('*')) {
    if (!scrolls(e) || e.scrollWidth <= e.clientWidth + 1) continue;
    if (e.tabIndex < 0) problems.push(`the keyboard can't scroll ${name(e)}`);
    if (!e.getAttribute('role') || !e.getAttribute('aria-label')) problems.push(`what scrolls has no role or no name: ${name(e)}`);
  }
  for (const e of document.querySelectorAll('[tabindex]')) {
    if (e.tabIndex > 0) problems.push(`it takes the order of the Tab key into its own hands: ${name(e)}`);
  }

  // Contrast of text with what lies below it.
  const parse = text => {
    const n = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1;
    return { r: n[0] * scale, g: n[1] * scale, b: n[2] * scale, a: n.length > 3 ? n[3] : 1 };
  };
  const over = (top, below) => {
    const mix = k => top[k] * top.a + below[k] * (1 - top.a);
    return { r: mix('r'), g: mix('g'), b: mix('b'), a: 1 };
  };
  const luminance = c => [c.r, c.g, c.b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const canvas = { r: 255, g: 255, b: 255, a: 1 };
  const ground = e => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      layers.push(c);
      if (c.a === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), canvas);
  };
  const center = r => [r.left + r.width / 2, r.top + r.height / 2];
  const drawnBelow = text => {
    const svg = text.ownerSVGElement;
    const [x, y] = center(text.getBoundingClientRect());
    let below = ground(svg);
    for (const shape of svg.querySelectorAll('rect, path, circle, ellipse, polygon')) {
      if (shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_PRECEDING) break;
      const r = shape.getBoundingClientRect();
      const fill = getComputedStyle(shape).fill;
      if (fill !== 'none' && r.left <= x && x <= r.right && r.top <= y && y <= r.bottom) below = over(parse(fill), below);
    }
    return below;
  };
  const complain = (e, colour, below) => {
    const ratio = contrast(over(colour, below), below);
    if (ratio < 4.5) problems.push(`the contrast is ${ratio.toFixed(2)}, less than 4.5: ${name(e)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const e = text.parentElement;
    if (!text.data.trim() || ['script', 'style', 'title', 'desc'].includes(e.localName)) continue;
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const svgText = e.closest('text');
    if (svgText) complain(e, parse(getComputedStyle(e).fill), drawnBelow(svgText));
    else complain(e, parse(getComputedStyle(e).color), ground(e));
  }

  // Names that appear twice.
  const seen = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (seen.has(e.id)) problems.push(`the id ${e.id} occurs twice`);
    seen.add(e.id);
  }
  return problems;
})()
