package cases

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// WriteTAP writes reports in the Test Anything Protocol, version 14.
func WriteTAP(w io.Writer, reports []*FileReport) error {
	var b bytes.Buffer
	n := 0
	point := func(ok bool, title, directive string, more []string) {
		n++
		word := "ok"
		if !ok {
			word = "not ok"
		}
		title = strings.ReplaceAll(strings.ReplaceAll(plaintext.Line(title, 1_000), `\`, `\\`), "#", `\#`)
		fmt.Fprintf(&b, "%s %d - %s%s\n", word, n, title, directive)
		if len(more) > 0 {
			b.WriteString("  ---\n")
			for line := range strings.Lines(toYAML(map[string]any{"failures": texts(more)})) {
				b.WriteString("  " + line)
			}
			b.WriteString("  ...\n")
		}
	}
	for _, f := range reports {
		for _, cell := range f.Cells {
			title := f.Path + " [" + cell.String() + "]"
			if cell.Skipped != "" {
				point(true, title, " # SKIP "+cell.Skipped, nil)
			}
			for _, c := range cell.Cases {
				directive := ""
				if c.Skipped != "" {
					directive = " # SKIP " + c.Skipped
				}
				point(len(c.Failures) == 0, title+" "+c.Name, directive, c.Failures)
			}
		}
		if f.Err != nil {
			point(false, f.Path, "", []string{f.Err.Error()})
		}
	}
	_, err := fmt.Fprintf(w, "TAP version 14\n1..%d\n%s", n, b.String())
	return err
}

// texts returns the failures with control characters removed.
func texts(failures []string) []any {
	clean := make([]any, len(failures))
	for i, text := range failures {
		clean[i] = plaintext.Clean(text)
	}
	return clean
}
