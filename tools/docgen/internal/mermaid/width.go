package mermaid

import "unicode"

// advances has the widths of printable ASCII in thousandths of the font's size,
// from the space on, as the usual sans-serif faces have them.
var advances = [95]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

// spare widens every measure: the page's font is not known, and a label that
// leaves its box is worse than a box with some air.
const spare = 1.06

// textWidth estimates how wide s is at the given font size, in pixels.
func textWidth(s string, size float64) float64 {
	sum := 0
	for _, r := range s {
		sum += advance(r)
	}
	return float64(sum) / 1000 * size * spare
}

func advance(r rune) int {
	switch {
	case r >= ' ' && r <= '~':
		return advances[r-' ']
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case isWide(r):
		return 1000
	case r >= 0x1F000:
		return 1300 // emoji
	case unicode.IsUpper(r):
		return 720
	case unicode.IsLetter(r):
		return 580
	default:
		return 1000 // arrows, dashes, mathematical signs
	}
}

// isWide tells the scripts that fill a square per character, and that may be
// broken between any two of them.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303F || r >= 0xFF01 && r <= 0xFF60
}

func blockWidth(lines []string, size float64) float64 {
	width := 0.0
	for _, l := range lines {
		width = max(width, textWidth(l, size))
	}
	return width
}
