package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// quantity is a figure with its unit.
type quantity struct {
	value float64
	unit  string // "/s", " ms" and so on: as it follows the figure
}

func perSecond(rate float64) quantity  { return quantity{rate, "/s"} }
func millis(d time.Duration) quantity  { return quantity{float64(d) / 1e6, " ms"} }
func micros(d time.Duration) quantity  { return quantity{float64(d) / 1e3, " µs"} }
func megabytes(bytes float64) quantity { return quantity{bytes / (1 << 20), " MB"} }
func count(n float64) quantity         { return quantity{n, ""} }

// String shows three digits, or all of those before the point.
func (q quantity) String() string {
	digits := 2
	switch v := math.Abs(q.value); {
	case v >= 99.95 || v == math.Trunc(v):
		digits = 0
	case v >= 9.995:
		digits = 1
	case v < 0.0995:
		digits = 4
	}
	return fmt.Sprintf("%.*f%s", digits, q.value, q.unit)
}

// bound is what a goal asks for, of a line's ratio or of its value. The zero
// bound asks for nothing.
type bound struct {
	least, most float64
	text        string
	ofValue     bool
}

func atLeast(ratio float64) bound {
	return bound{least: ratio, most: math.Inf(1), text: fmt.Sprintf("≥ %.2f", ratio)}
}
func atMost(ratio float64) bound { return bound{most: ratio, text: fmt.Sprintf("≤ %.2f", ratio)} }
func within(least, most float64) bound {
	return bound{least: least, most: most, text: fmt.Sprintf("%.2f to %.2f", least, most)}
}

// valueAtMost and valueAtLeast bound the value itself.
func valueAtMost(limit float64, unit string) bound {
	return bound{most: limit, text: "≤ " + quantity{limit, unit}.String(), ofValue: true}
}

func valueAtLeast(limit float64, unit string) bound {
	return bound{least: limit, most: math.Inf(1), text: "≥ " + quantity{limit, unit}.String(), ofValue: true}
}

// line is one line of the table.
type line struct {
	goal   int // 0: a comparison
	what   string
	value  quantity
	base   string    // what the floor is; "" when there is none
	floor  quantity  // the figure of that
	rounds []float64 // the ratio of value to floor in each round, or in all
	bound  bound
	skip   string // why it could not be measured here
	err    error  // what went wrong
}

// verdict is empty where there is no goal.
func (l line) verdict() string {
	got := median(l.rounds)
	if l.bound.ofValue {
		got = l.value.value
	}
	switch {
	case l.err != nil:
		return "FAILED"
	case l.skip != "" || l.bound.text == "":
		return ""
	case got >= l.bound.least && got <= l.bound.most:
		return "yes"
	}
	return "NO" // not a number included
}

var columns = []string{"goal", "what", "measured", "floor", "ratio", "goal's bound", "met"}

func (l line) cells() []string {
	goal, value, floor, ratio := "", l.value.String(), "", ""
	if l.goal > 0 {
		goal = fmt.Sprint(l.goal)
	}
	if l.base != "" {
		floor = l.base + " " + l.floor.String()
		ratio = showRatios(l.rounds)
	}
	switch {
	case l.err != nil:
		value = strings.Join(strings.Fields(l.err.Error()), " ")
		floor, ratio = "", ""
	case l.skip != "":
		value, floor, ratio = "not measured: "+l.skip, "", ""
	}
	return []string{goal, l.what, value, floor, ratio, l.bound.text, l.verdict()}
}

// showRatios shows the median, and the quartiles where there are rounds enough.
func showRatios(ratios []float64) string {
	show := func(ratio float64) string {
		if ratio < 0.0995 {
			return fmt.Sprintf("%.4f", ratio)
		}
		return fmt.Sprintf("%.2f", ratio)
	}
	text := show(median(ratios))
	if len(ratios) >= 4 {
		text += " (" + show(quantile(ratios, 0.25)) + "–" + show(quantile(ratios, 0.75)) + ")"
	}
	return text
}

func (l line) String() string {
	cells := slices.DeleteFunc(l.cells(), func(s string) bool { return s == "" })
	return strings.Join(cells, " · ")
}

// failures joins what went wrong.
func failures(lines []line) error {
	var errs []error
	for _, l := range lines {
		if l.err != nil {
			errs = append(errs, fmt.Errorf("goal %d: %s: %w", l.goal, l.what, l.err))
		}
	}
	return errors.Join(errs...)
}

// write prints the table, goals first.
func write(out io.Writer, where []string, lines []line, markdown bool) error {
	lines = slices.Clone(lines)
	last := func(goal int) int { return cmp.Or(goal, math.MaxInt) }
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(last(a.goal), last(b.goal)) })
	rows := [][]string{columns}
	for _, l := range lines {
		rows = append(rows, l.cells())
	}
	var text strings.Builder
	if markdown {
		writeMarkdown(&text, where, rows)
	} else {
		writePlain(&text, where, rows)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func writeMarkdown(text *strings.Builder, where []string, rows [][]string) {
	for _, w := range where {
		fmt.Fprintf(text, "- %s\n", w)
	}
	text.WriteString("\n")
	for i, row := range rows {
		for _, cell := range row {
			text.WriteString(strings.TrimRight("| "+strings.ReplaceAll(cell, "|", `\|`), " ") + " ")
		}
		text.WriteString("|\n")
		if i == 0 {
			text.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

// writePlain aligns the columns. text/tabwriter would count bytes of "≥".
func writePlain(text *strings.Builder, where []string, rows [][]string) {
	for _, w := range where {
		fmt.Fprintln(text, w)
	}
	text.WriteString("\n")
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			if len(row[3]) > 0 || i != 2 { // a reason may be long
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range rows {
		var one strings.Builder
		ahead := 0 // of the column, after a long reason
		for i, cell := range row {
			pad := widths[i] + 2 - utf8.RuneCountInString(cell) - ahead
			ahead = max(0, 2-pad)
			one.WriteString(cell + strings.Repeat(" ", max(2, pad)))
		}
		text.WriteString(strings.TrimRight(one.String(), " ") + "\n")
	}
}

// machine tells when and where the figures are from.
func (b *bench) machine(ctx context.Context) ([]string, error) {
	var version, fsync, commit string
	err := b.admin.QueryRow(ctx, `select current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit')`).Scan(&version, &fsync, &commit)
	if err != nil {
		return nil, err
	}
	server := fmt.Sprintf("PostgreSQL %s, fsync %s, synchronous_commit %s", version, fsync, commit)
	if fsync != "on" || commit != "on" {
		server += ": the figures of leases mean nothing, they are not on disk"
	}
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if model := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(info); model != nil {
			cpu = string(model[1])
		}
	}
	system := runtime.GOOS
	if release, err := os.ReadFile("/etc/os-release"); err == nil {
		if name := regexp.MustCompile(`(?m)^PRETTY_NAME="?([^"\n]+)`).FindSubmatch(release); name != nil {
			system = string(name[1])
		}
	}
	return []string{
		fmt.Sprintf("%s, %d rounds, slices of %v", time.Now().Format(time.DateOnly), b.rounds, b.slice),
		fmt.Sprintf("%d cores, %s, %s, %s", runtime.NumCPU(), cpu, system, runtime.Version()),
		server,
	}, nil
}
