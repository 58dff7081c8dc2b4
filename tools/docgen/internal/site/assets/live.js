// Only in docgen serve: loads the page again when the site has been rebuilt.
new EventSource('/_live').onmessage = () => location.reload();
