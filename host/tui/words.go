package tui

import (
	"fmt"
	"strconv"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// oneLine is text of somebody else on one line of at most max characters.
func oneLine(text string, max int) string { return plaintext.Line(text, max) }

// unbroken is all of a text without its line breaks, which would begin lines that somebody
// else seems to have written.
func unbroken(text string) string { return plaintext.Unbroken(text) }

// count is a number as people read it.
func count(n int) string {
	switch {
	case n < 1_000:
		return strconv.Itoa(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1_000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1_000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// bytes is a size as people read it.
func bytes(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// money is an amount of US dollars.
func money(dollars float64, unknown bool) string {
	switch {
	case unknown && dollars == 0:
		return "cost unknown"
	case unknown: // of other requests
		return "at least " + money(dollars, false)
	case dollars == 0:
		return "$0"
	case dollars < 0.1:
		return fmt.Sprintf("$%.4f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

// plural is a number of things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}
