// The search: a dialog, and an index that is loaded when it is first opened.
'use strict';
{
  const root = document.currentScript.dataset.root;
  const $ = name => document.querySelector(`[data-search${name}]`);
  const dialog = $('-dialog'), input = $('-input'), list = $('-list'), status = $('-status');
  const mac = /Mac|iP(hone|ad|od)/.test(navigator.platform);
  if (mac) document.querySelector('[data-keys]').textContent = '⌘ K';

  // As in terms.go.
  const stem = word => {
    for (const [end, least] of [['ing', 4], ['ed', 4], ['es', 4], ['s', 3], ['e', 4]]) {
      const rest = word.slice(0, -end.length);
      if (word.endsWith(end) && rest.length >= least && !word.endsWith('ss')) return rest;
    }
    return word;
  };
  const words = text => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];

  // As encode in search.go writes them: [section, level] for each place.
  const decode = text => {
    let section = 0;
    return Array.from(text.matchAll(/([-+*]?)(\d*)([a-z])/g), ([, level, high, low]) => {
      section += 26 * high + low.charCodeAt(0) - 97;
      return [section, '-+*'.indexOf(level || ' ') + 1];
    });
  };

  let index, loading;
  const load = () => loading ||= fetch(root + 'search.json').then(r => {
    if (!r.ok) throw new Error(r.status);
    return r.json();
  }).then(x => {
    index = { ...x, terms: x.terms.split(' '), places: x.places.split(' ') };
  }).catch(e => {
    loading = undefined; // the next letter tries again
    throw e;
  });

  // A term counts by how well it fits the section and by how rare it is; the
  // beginning of a term counts half. What has more of the words comes earlier.
  const find = query => {
    const asked = [...new Set(words(query))];
    const total = new Map();
    for (const word of asked) {
      const exact = stem(word), best = new Map();
      index.terms.forEach((term, i) => {
        if (term !== exact && !term.startsWith(word) && !(exact.length > 2 && term.startsWith(exact))) return;
        const places = decode(index.places[i]);
        const rare = Math.log(1 + index.sections.length / places.length);
        for (const [section, level] of places) {
          const score = rare * (level + 1) * (term === exact ? 1 : 0.5);
          if (score > (best.get(section) || 0)) best.set(section, score);
        }
      });
      for (const [section, score] of best) {
        const sum = total.get(section) || { score: 0, words: 0 };
        total.set(section, { score: sum.score + score, words: sum.words + 1 });
      }
    }
    const rank = sum => sum.score * sum.words;
    return [...total].sort(([a, x], [b, y]) => rank(y) - rank(x) || a - b).slice(0, 20);
  };

  const element = (tag, className, text) => {
    const e = document.createElement(tag);
    e.className = className;
    e.textContent = text;
    return e;
  };
  const show = found => {
    list.replaceChildren(...found.map(([i]) => {
      const [article, id, heading, excerpt] = index.sections[i];
      const [file, title] = index.articles[article];
      const a = document.createElement('a');
      a.href = root + file + (id && '#' + encodeURIComponent(id));
      a.append(element('b', '', heading || title), ' ', element('span', 'in', heading ? title : 'Article'));
      if (excerpt) a.append(' ', element('span', 'excerpt', excerpt));
      const item = document.createElement('li');
      item.append(a);
      return item;
    }));
  };

  // What is said and listed now is the answer to this.
  const answer = text => {
    status.textContent = text;
    list.dataset.asked = input.value;
  };
  const search = async () => {
    if (location.protocol === 'file:') {
      answer('Search needs a web server: a browser does not let a page from disk read the index. Try: go run ./tools/docgen serve');
      return;
    }
    try {
      await load();
    } catch (e) {
      answer('The index could not be loaded. Type on to try again.');
      return;
    }
    const asked = words(input.value).length;
    const found = asked ? find(input.value) : [];
    show(found);
    answer(!asked ? '' : found.length ? `${found.length} result${found.length > 1 ? 's' : ''}` : 'Nothing found');
  };

  const open = () => {
    if (!dialog.open) dialog.showModal(); // Escape closes it, and the focus returns
    input.select();
    search();
  };
  $('').addEventListener('click', open);
  $('-close').addEventListener('click', () => dialog.close());
  input.addEventListener('input', search);
  document.addEventListener('keydown', event => {
    if (event.key.toLowerCase() !== 'k' || event.altKey || event.shiftKey || !(mac ? event.metaKey : event.ctrlKey)) return;
    event.preventDefault();
    open();
  });

  // The arrows go through the field and the results, in a circle.
  dialog.addEventListener('keydown', event => {
    const links = [...list.querySelectorAll('a')];
    if (event.key === 'Enter' && event.target === input && links.length) links[0].click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const stops = [input, ...links];
    event.preventDefault();
    stops[(Math.max(0, stops.indexOf(event.target)) + step + stops.length) % stops.length].focus();
  });
  dialog.addEventListener('click', event => {
    if (event.target === dialog || event.target.closest('a')) dialog.close(); // the backdrop, or a result
  });
}
