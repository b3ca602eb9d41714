package eras

import (
	"errors"
	"strings"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// Of returns the era of a client as package definitions names it. The result is empty if the era is
// not known.
func Of(m *mcp.Meta) string {
	switch {
	case m == nil || m.Revision == "":
		return ""
	case revision.IsLegacy(m.Revision):
		return definitions.Legacy
	}
	return definitions.Modern
}

// Other returns the era in which a server may be able to send requests, if a request failed because
// the server cannot send them now. Otherwise it returns an empty string. The parameter spoken is
// the revision of the connection. Other does not suggest the modern era for a program whose error
// omits the newest revision, as the program may support the legacy era only.
func Other(spoken string, program bool, req *mcp.Request, result mcp.Result, err error) string {
	if !revision.MethodNamed(req.Method).Asks || !acceptsRequests(req.Meta.Capabilities) {
		return ""
	}
	text := fault(result, err)
	switch {
	case !revision.CannotAsk(text):
		return ""
	case !revision.IsLegacy(spoken):
		return definitions.Legacy
	case program && !strings.Contains(text, revision.Latest().Name):
		return ""
	}
	return definitions.Modern
}

func acceptsRequests(c *mcp.ClientCapabilities) bool {
	return c != nil && (c.Elicitation != nil || c.Sampling != nil || c.Roots != nil)
}

// maxFault is the maximum size in bytes of a result that is searched for an error.
const maxFault = 4 << 10

// fault returns the text of an error, or of a result with isError.
func fault(result mcp.Result, err error) string {
	var e *mcp.Error
	switch {
	case errors.As(err, &e):
		return e.Message
	case err != nil:
		return ""
	}
	if len(result.JSON) == 0 || len(result.JSON) > maxFault {
		return ""
	}
	body := result.JSON
	if string(jsonrpc.Get(body, "isError")) != "true" {
		return ""
	}
	text := ""
	jsonrpc.EachElement(jsonrpc.Get(body, "content"), func(block []byte) bool {
		text, _ = jsonrpc.Unquote(jsonrpc.Get(block, "text"))
		return text == ""
	})
	return text
}

// Repeats reports whether a request may be sent twice: it only reads, or its tool claims to be
// read-only or idempotent. The definition tool is used for calls only, and may be nil.
func Repeats(req *mcp.Request, tool []byte) bool {
	switch {
	case req.Round > 0 || req.Method == methodListen:
		return false
	case req.Method != methodCall:
		return true
	case tool == nil:
		return false
	}
	hints := jsonrpc.Get(tool, "annotations")
	return string(jsonrpc.Get(hints, "idempotentHint")) == "true" || string(jsonrpc.Get(hints, "readOnlyHint")) == "true"
}

// CallAgain is the advice for a client when the era changes and its failed request is not repeated.
const CallAgain = "Junction now connects to the server in the other era of the protocol, in which it may be able to ask: repeat the call if that is safe."

// Advised returns the outcome of a failed request that is not repeated, with advice after its text.
// [Other] must have returned an era for the request.
func Advised(result mcp.Result, err error, advice string) (mcp.Result, error) {
	var e *mcp.Error
	if errors.As(err, &e) {
		return result, &mcp.Error{Code: e.Code, Message: strings.TrimSuffix(e.Message, ".") + ". " + advice, Data: e.Data}
	}
	body, encodeErr := result.Encoded()
	if err != nil || encodeErr != nil {
		return result, err
	}
	w := jsonrpc.NewArray(nil)
	jsonrpc.EachElement(jsonrpc.Get(body, "content"), func(block []byte) bool { w.Element(block); return true })
	w.ObjectElement()
	w.String("type", mcp.ContentText)
	w.String("text", advice)
	w.End()
	return result.WithJSON(jsonrpc.With(body, "content", w.Bytes())), nil
}
