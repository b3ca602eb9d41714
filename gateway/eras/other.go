package eras

import (
	"errors"
	"strings"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// Of returns the era of a client, one of those that package definitions names; empty where it does not say.
func Of(m *mcp.Meta) string {
	switch {
	case m == nil || m.Revision == "":
		return ""
	case revision.IsLegacy(m.Revision):
		return definitions.Legacy
	}
	return definitions.Modern
}

// Other returns the era in which a server may be able to ask its client, where a request failed as it cannot in the era of
// its connection; elsewhere it returns nothing. spoken is the revision of that connection. A program that does not name the
// newest revision is not started again for it, as it may know the legacy era only.
func Other(spoken string, program bool, req *mcp.Request, result mcp.Result, err error) string {
	if !revision.MethodNamed(req.Method).Asks || !canBeAsked(req.Meta.Capabilities) {
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

func canBeAsked(c *mcp.ClientCapabilities) bool {
	return c != nil && (c.Elicitation != nil || c.Sampling != nil || c.Roots != nil)
}

// maxFault is the size of a result up to which it is looked at for an error.
const maxFault = 4 << 10

// fault is the text of an error, or of a result that says that the tool failed.
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

// Repeats reports whether a request may be made twice: it only reads, or is a call of a tool whose definition says that it
// only reads or is idempotent. The definition may be nil, and is not looked at for other requests.
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

// CallAgain is what a client can do where the connection changes, and the failed request is not made again.
const CallAgain = "Junction now connects to the server in the other era of the protocol, in which it may be able to ask: call again if nothing speaks against that."

// Advised returns the outcome of a request for which [Other] found an era and which was not made again, with advice behind
// its text.
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
