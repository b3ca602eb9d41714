package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// Limits of the parts of a response that a result shows.
const (
	maxErrorBody  = 4 << 10 // bytes of an error's body
	maxBeginning  = 2 << 10 // bytes shown of a long response, before a link to all of it
	maxMedia      = 4 << 20 // bytes of a picture or a sound in a result
	maxHeaderText = 1 << 10 // bytes of a header in a result
	maxNesting    = 100     // depth of JSON in structured content; a message may be nested 128 levels deep
)

// A Shape describes the result that a tool requires.
type Shape struct {
	// Object reports that the tool has an output schema, so that a successful result needs
	// structured content. An empty response then becomes an empty object. A response that is not an
	// object becomes a tool error with that reason.
	Object bool
	// Check returns an error if structured content does not match the output schema; nil means no
	// check.
	Check func(body any) error
	// Headers lists response headers to show in a result, in addition to those in paging.
	Headers []string
}

// paging lists the headers about further pages, created resources and limits that every result
// shows.
var paging = []string{
	"Link", "Location", "Content-Location", "Retry-After", "X-Total", "X-Total-Count", "X-Total-Pages", "X-Page", "X-Per-Page", "X-Next-Page", "X-Prev-Page",
	"X-Next-Cursor", "X-RateLimit-Remaining", "X-RateLimit-Reset", "ETag", "Sunset", "Deprecation",
}

// Result converts a response to the result of a tool.
func (c *Client) Result(a *Answer, shape Shape) *mcp.CallToolResult {
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(a.Body))
	}
	if a.Status < 200 || a.Status > 299 {
		return c.refusal(a, media)
	}
	var result *mcp.CallToolResult
	switch body := bytes.TrimSpace(a.Body); {
	case len(body) == 0:
		result = &mcp.CallToolResult{Content: []mcp.Content{mcp.Textf("%d %s", a.Status, http.StatusText(a.Status))}}
		if shape.Object {
			result.StructuredContent = json.RawMessage("{}")
		}
	case isJSON(media, body):
		result = c.json(a, body, shape)
	case isText(media) && utf8.Valid(a.Body) && bytes.IndexByte(a.Body, 0) < 0:
		result = c.text(media, a.Body)
	case (strings.HasPrefix(media, "image/") || strings.HasPrefix(media, "audio/")) && len(a.Body) <= maxMedia:
		block := mcp.Image(a.Body, media)
		if strings.HasPrefix(media, "audio/") {
			block = mcp.Audio(a.Body, media)
		}
		result = &mcp.CallToolResult{Content: []mcp.Content{block}}
	default:
		result = c.linked(media, false, a.Body, fmt.Sprintf("%d bytes of %s.", len(a.Body), media))
	}
	if shape.Object && result.StructuredContent == nil {
		fail(result, a, errors.New("it is not a JSON object"))
	}
	if headers := headersOf(a.Header, shape.Headers); headers != "" {
		result.Content = append(result.Content, mcp.Text(headers))
	}
	return result
}

// refusal returns the result for a response with an error status.
func (c *Client) refusal(a *Answer, media string) *mcp.CallToolResult {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: the API answered %d %s", a.Request.name(), a.Status, http.StatusText(a.Status))
	if location := a.Header.Get("Location"); a.Status < 400 && location != "" {
		fmt.Fprintf(&text, ", a redirect that was not followed")
	}
	body := bytes.TrimSpace(a.Body)
	switch {
	case len(body) == 0:
	case (isText(media) || isJSON(media, body)) && utf8.Valid(body):
		fmt.Fprintf(&text, ":\n%s", cut(compact(body), maxErrorBody))
	default:
		fmt.Fprintf(&text, ", with %d bytes of %s", len(body), media)
	}
	if headers := headersOf(a.Header, []string{"WWW-Authenticate"}); headers != "" {
		text.WriteString("\n" + headers)
	}
	return mcp.ToolError("%s", text.String())
}

// fail turns the result into a tool error, because the response does not match the tool's output
// schema.
func fail(result *mcp.CallToolResult, a *Answer, why error) {
	result.IsError, result.StructuredContent = true, nil
	said := mcp.Textf("%s: the API executed it (status %d), but its answer does not fit its description: %v. The answer is:", a.Request.name(), a.Status, why)
	result.Content = append([]mcp.Content{said}, result.Content...)
}

// json returns the result for a JSON response.
func (c *Client) json(a *Answer, body []byte, shape Shape) *mcp.CallToolResult {
	plain := compact(body)
	var result *mcp.CallToolResult
	if long := len(plain) > c.options.MaxInline || nestingDepth(plain) > maxNesting; long {
		result = c.linked("application/json", true, plain, "")
	} else {
		result = &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(plain))}, StructuredContent: plain}
	}
	if !shape.Object {
		return result
	}
	value, err := tree.ParseJSON(plain)
	object, ok := value.(*tree.Object)
	switch {
	case err != nil:
		fail(result, a, err)
	case !ok:
		fail(result, a, errors.New("it is not a JSON object"))
	default:
		if shape.Check != nil {
			err = shape.Check(object)
		}
		if err != nil {
			fail(result, a, err)
		} else if result.StructuredContent == nil {
			result.StructuredContent = c.part(object)
		}
	}
	return result
}

// part returns an object with the short members of o, if a tool must return an object but the
// response is too long.
func (c *Client) part(o *tree.Object) json.RawMessage {
	some, left := tree.NewObject(), c.options.MaxInline
	for _, name := range o.Names() {
		value := tree.Append(nil, o.Get(name))
		if size := len(name) + len(value) + 4; size <= left && nestingDepth(value) < maxNesting-1 {
			left -= size
			some.Set(name, o.Get(name))
		}
	}
	return tree.Append(nil, some)
}

// text returns the result for a text response.
func (c *Client) text(media string, body []byte) *mcp.CallToolResult {
	if len(body) > c.options.MaxInline {
		return c.linked(media, true, body, "")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(body))}}
}

// linked stores a body. It returns a result with a link to the stored body and the beginning of its
// text.
func (c *Client) linked(media string, text bool, body []byte, said string) *mcp.CallToolResult {
	if text {
		said = fmt.Sprintf("The answer has %d bytes. It begins:\n%s", len(body), cut(body, maxBeginning))
	}
	uri := c.kept.Put("", media, text, body)
	if uri == "" {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(said + "\nIt is too large to be kept.")}}
	}
	size := int64(len(body))
	return &mcp.CallToolResult{Content: []mcp.Content{
		mcp.Textf("%s\nThe resource %s has the whole answer, for %v.", said, uri, c.options.KeptTime),
		mcp.Link(mcp.Resource{URI: uri, Name: "answer", MIMEType: media, Size: &size}),
	}}
}

// headersOf returns a line for each header that a result shows.
func headersOf(h http.Header, names []string) string {
	var lines []string
	seen := map[string]bool{"Set-Cookie": true, "Content-Type": true, "Content-Length": true, "Date": true}
	for _, name := range append(append([]string(nil), paging...), names...) {
		name = http.CanonicalHeaderKey(name)
		if value := strings.Join(h.Values(name), ", "); value != "" && !seen[name] && utf8.ValidString(value) {
			lines = append(lines, name+": "+cut([]byte(value), maxHeaderText))
		}
		seen[name] = true
	}
	return strings.Join(lines, "\n")
}

func isJSON(media string, body []byte) bool {
	return (media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")) && jsontext.Value(body).IsValid()
}

// isText reports whether a media type is a kind of text, although its name may not begin with
// text/.
func isText(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/jsonl", "application/yaml", "application/x-yaml",
		"application/toml", "application/sql", "application/graphql", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+yaml")
}

// compact removes white space from JSON. It returns other input unchanged.
func compact(body []byte) []byte {
	value := jsontext.Value(bytes.Clone(body))
	if value.Compact() != nil {
		return body
	}
	return value
}

// nestingDepth returns the nesting depth of valid JSON.
func nestingDepth(text []byte) int {
	d, deepest := jsontext.NewDecoder(bytes.NewReader(text)), 0
	for {
		if _, err := d.ReadToken(); err != nil {
			if err != io.EOF {
				return maxNesting + 1
			}
			return deepest
		}
		deepest = max(deepest, d.StackDepth())
	}
}

// cut shortens text to at most n bytes, at the end of a character.
func cut(text []byte, n int) string {
	if len(text) <= n {
		return string(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return string(text[:n]) + fmt.Sprintf("… (%d more bytes)", len(text)-n)
}
