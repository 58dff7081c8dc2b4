// The theme, the copy buttons and the contents. Without this script a page shows
// the same text; what needs it is hidden until theme.js has run.
'use strict';
{
  const root = document.documentElement;
  const status = document.querySelector('[data-status]');
  const say = text => {
    status.textContent = '';
    requestAnimationFrame(() => { status.textContent = text; });
  };

  // A choice that agrees with the system is forgotten: the page follows again.
  const button = document.querySelector('[data-theme-button]');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
  const show = () => button.setAttribute('aria-pressed', isDark());
  button.addEventListener('click', () => {
    const dark = !isDark();
    if (dark === system.matches) delete root.dataset.theme;
    else root.dataset.theme = dark ? 'dark' : 'light';
    try {
      if (root.dataset.theme) localStorage.setItem('relay-theme', root.dataset.theme);
      else localStorage.removeItem('relay-theme');
    } catch (e) { /* not remembered then */ }
    show();
  });
  system.addEventListener('change', show);
  show();

  // Copies the text of the code that the button belongs to: its bytes, with tabs.
  const copy = async text => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement('textarea'); // without https
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    if (!done) throw new Error('refused');
  };
  document.addEventListener('click', async event => {
    const copier = event.target.closest('[data-copy]');
    if (!copier) return;
    let said = 'Copied';
    try {
      await copy(copier.closest('.run, figure').querySelector('[data-code]').textContent);
    } catch (e) {
      said = 'Not copied';
    }
    copier.focus();
    copier.textContent = said;
    say(said);
    setTimeout(() => { copier.textContent = 'Copy'; }, 2000);
  });

  // What does not scroll is no stop for the Tab key.
  const boxes = document.querySelectorAll('.scroll');
  const watch = new ResizeObserver(entries => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute('tabindex');
    }
  });
  boxes.forEach(box => watch.observe(box));

  // Marks the section that is being read: the last whose heading is above the
  // upper third of the window.
  const links = [...document.querySelectorAll('.contents.beside a')];
  const headings = links.map(a => document.getElementById(decodeURIComponent(a.hash.slice(1))));
  const mark = () => {
    const line = innerHeight / 3;
    const at = headings.findLastIndex(h => h.getBoundingClientRect().top < line);
    links.forEach((a, i) => {
      if (i === at) a.setAttribute('aria-current', 'true');
      else a.removeAttribute('aria-current');
    });
  };
  if (links.length) {
    let waiting = false;
    addEventListener('scroll', () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; mark(); });
    }, { passive: true });
    mark();
  }
}
