package results

import "strings"

// isChatter tells whether a logged message is this repository's internal/pgtest
// saying which PostgreSQL it found, and why not another one. That is about the
// machine: folders in /tmp, addresses of resolvers. It explains a skip or a
// failure; beside a test that passed it would only hide what the test says.
func isChatter(message string) bool { return strings.HasPrefix(message, "pgtest: ") }
