package relaytest

import (
	"errors"
	"strings"

	"github.com/relay-samples/relay-go/relay"
)

// badNames are what every adapter refuses with relay.ErrInvalidName.
var badNames = map[string]string{
	"an empty name":                  "",
	"a name of 256 bytes":            strings.Repeat("x", 256),
	"a name of 128 runes, 256 bytes": strings.Repeat("é", 128),
	"a name with NUL":                "a\x00b",
	"a name of invalid UTF-8":        "a\xffb",
	"a surrogate half":               "\xed\xa0\x80",
}

// oddNames are unusual and good. They all differ byte by byte, some of them in
// nothing else: no adapter may fold case, trim, or normalise.
var oddNames = []string{
	strings.Repeat("x", 255),
	strings.Repeat("é", 127) + "x", // 255 bytes
	"JOB", "Job", "job", "job ", " job", "job\n", "job\u200b",
	"caf\u00e9", "cafe\u0301", // the same word in NFC and in NFD
	"stra\u00dfe", "strasse",
	" ", "\t", "%", "_", "\\", "'; drop table names; --", "$1", "{}",
	"ключ/鍵/🔑", "\u202egnp.exe", "\ufffd", "leader:job",
}

// refusesBadNames fails unless call answers ErrInvalidName to each bad name.
func (tr *trial) refusesBadNames(what string, call func(name string) error) {
	for why, name := range badNames {
		if err := call(name); !errors.Is(err, relay.ErrInvalidName) {
			tr.fail("%s with %s: %v; want an error that matches ErrInvalidName", what, why, err)
		}
	}
}
