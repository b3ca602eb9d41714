package lines

import (
	"bytes"
	"testing"
)

// A server on HTTP may write JSON over several lines. Readers of standard input, such as Python's,
// also end a line at a carriage return.
func TestAMessageIsOneLineHoweverItsJSONWasWritten(t *testing.T) {
	const message, want = "{\"a\":\r\n [1,\n2],\r\"b\":\"\\r\\n\"\t}", "{\"a\":   [1, 2], \"b\":\"\\r\\n\"\t}\n"
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Gather(t.Context(), []byte(message))
	w.Give(t.Context(), []byte(message))
	if err := w.Flush(); err != nil || out.String() != want+want {
		t.Errorf("gathered: %q, %v", out.String(), err)
	}
	out.Reset()
	w.Give(t.Context(), []byte(message))
	if err := w.Flush(); err != nil || out.String() != want {
		t.Errorf("given: %q, %v", out.String(), err)
	}
}
