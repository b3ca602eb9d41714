package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/junction-mcp/junction/internal/eventstream"
)

// Events gives the events of a stream that have data to take, up to the one at which
// that reports the end, or the end of the stream. Some servers forget the blank line
// behind the last event.
func Events(body io.Reader, take func(name string, data []byte) (end bool, err error)) error {
	events := eventstream.NewReader(io.MultiReader(body, strings.NewReader("\n\n")), MaxEvent)
	for {
		next, err := events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		data := bytes.TrimSpace(next.Data)
		if len(data) == 0 {
			continue
		}
		if end, err := take(next.Name, data); end || err != nil {
			return err
		}
	}
}

// Whole reads an answer that is no stream, but one JSON text.
func Whole(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, MaxEvent+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxEvent:
		return nil, eventstream.ErrTooLarge
	case !json.Valid(data):
		return nil, errors.New(ComplaintOf(data).Message)
	}
	return bytes.TrimSpace(data), nil
}
