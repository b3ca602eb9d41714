package answer

import (
	"errors"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// Whatever a server asks for and a person types, an accepted form is an object
// that fits, or the form was refused as the server's mistake.
func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","minLength":2,"default":"x"},"b":{"type":"array","items":{"enum":["p","q"]}}},"required":["a"]}`, "xy\n1,2\n\n")
	f.Add(`{"properties":{"n":{"type":"integer","minimum":1},"c":{"oneOf":[{"const":1,"title":"One"}]}}}`, "0\n1\nOne\ne\n\n\ny\n")
	f.Fuzz(func(t *testing.T, asked, typed string) {
		if _, fault := jsonrpc.Index([]byte(asked), jsonrpc.Limits{}); fault != nil {
			return
		}
		d, _ := desk(typed)
		result, err := d.Answer(t.Context(), host.Form{Server: "weather", Request: mcp.ElicitRequest{RequestedSchema: []byte(asked)}})
		switch {
		case errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}), errors.Is(err, terminal.ErrNoAnswer):
			return
		case err != nil:
			return // a line longer than a person may type
		case result.Action != mcp.ElicitAccept:
			return
		}
		if _, fault := jsonrpc.Index(result.Content, jsonrpc.Limits{}); fault != nil {
			t.Fatalf("%s is no object: %v", result.Content, fault)
		}
		fields, _ := form.Read([]byte(asked))
		for _, field := range fields {
			jsonrpc.EachMember(result.Content, func(quoted, value []byte) bool {
				if name, _ := jsonrpc.Unquote(quoted); name == field.Name {
					if err := field.Check(value); err != nil && !errors.As(err, new(*schema.Error)) {
						t.Errorf("field %q: %s: %v", field.Name, value, err)
					} else if err != nil {
						t.Errorf("field %q holds %s, which does not fit: %v", field.Name, value, err)
					}
				}
				return true
			})
		}
	})
}
