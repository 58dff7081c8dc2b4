// Runs before the first paint, so that a page never flashes in the other theme.
(function () {
  var root = document.documentElement;
  root.classList.add('js');
  try {
    var theme = localStorage.getItem('relay-theme');
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  } catch (e) { /* storage is switched off: the system decides */ }
})();
