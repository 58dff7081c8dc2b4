// Package browser looks at a site in Chromium, as a reader does: with a mouse, by
// keyboard alone, through the accessibility tree, without scripts and from disk.
//
// What it finds it returns: tests decide what to do about it, and the package's
// own tests hand it faulty pages that it has to complain about.
package browser

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Browser is a running Chromium with one tab.
type Browser struct {
	ctx context.Context
	log *recorder
}

// Start runs Chromium until the test ends. Where none is installed the test is
// skipped, or fails if RELAY_REQUIRE_BROWSER is 1.
func Start(t testing.TB) *Browser {
	t.Helper()
	program := find()
	if program == "" {
		const why = "no Chromium in PATH; install the package chromium"
		if os.Getenv("RELAY_REQUIRE_BROWSER") == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, // CI runs as root in a container
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true),
		// A page that asks for something elsewhere is reported, and gets nothing.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)

	b := &Browser{ctx: ctx, log: &recorder{}}
	if err := chromedp.Listen(ctx, b.log.add); err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// find is the path of an installed Chromium, or nothing.
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
