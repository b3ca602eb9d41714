package loose

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// Shapes of content blocks, in a list or alone, and of messages. A block's shape contains the
// members of all types of blocks.
var (
	aBlock = &shape{kind: object, mend: mendBlock, whole: blockWhole, members: []member{{name: "type", shape: aText}, {name: "text", shape: anyText}, {name: "data", shape: aBase64}, {name: "mimeType", shape: aText},
		{name: "resource", shape: contents}, {name: "uri", shape: aText}, {name: "name", shape: aText}, {name: "annotations", shape: annotation}, {name: "title", shape: aText},
		{name: "description", shape: aText}, {name: "size", shape: anInteger}, {name: "_meta", shape: anObject}}}
	blocks   = &shape{kind: list, of: aBlock, lost: tolerance.BlockLeftOut, instead: leftOut}
	aMessage = &shape{kind: object, members: []member{{name: "role", shape: aRole, need: true}, {name: "content", shape: aBlock, need: true}}}
	aSample  = &shape{kind: object, members: []member{{name: "role", shape: aRole, need: true}, {name: "content", shape: whatever, need: true}}}
)

// Bits of the members of aBlock, and of the members of contents.
const (
	blockType = 1 << iota
	blockText
	blockData
	blockMIMEType
	blockResource
	blockURI
	blockName

	contentsURI  = 1 << 0
	contentsText = 1 << 1
	contentsBlob = 1 << 2
)

// blockWhole reports whether a block has the members that its type requires.
func blockWhole(has uint32, kind []byte) bool {
	need := uint32(blockType)
	if has&need == 0 {
		return false
	}
	switch string(kind) {
	case `"text"`:
		need |= blockText
	case `"image"`, `"audio"`:
		need |= blockData | blockMIMEType
	case `"resource"`:
		need |= blockResource
	case `"resource_link"`:
		need |= blockURI | blockName
	default:
		return has&need == need && (isPlain(kind) || !known(foldKind(kind)))
	}
	return has&need == need
}

// isPlain reports whether a quoted type consists of lower-case letters and underscores.
func isPlain(quoted []byte) bool {
	for _, c := range quoted[1 : len(quoted)-1] {
		if c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// foldKind returns a quoted type in lower case.
func foldKind(quoted []byte) string {
	kind, _ := jsonrpc.Unquote(quoted)
	return strings.ToLower(strings.TrimSpace(kind))
}

// known reports whether kind is a type of blocks that are checked. Blocks of other types stay
// unchanged.
func known(kind string) bool {
	switch kind {
	case "text", "image", "audio", "resource", "resource_link":
		return true
	}
	return false
}

// mendBlock reads malformed blocks: values that are not objects, and objects with missing or
// misnamed members.
func mendBlock(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	switch {
	case raw[0] == '"':
		m.add(tolerance.BlockForm)
		return textBlock(raw)
	case isNumber(raw), raw[0] == 't', raw[0] == 'f':
		m.add(tolerance.BlockForm)
		return textBlock(jsonrpc.AppendStringBytes(nil, raw))
	case raw[0] != '{':
		return nil
	}
	has := func(name string) bool { v := jsonrpc.Get(raw, name); return v != nil && string(v) != "null" }
	kind, typed := jsonrpc.Unquote(jsonrpc.Get(raw, "type"))
	if folded := foldKind(jsonrpc.Get(raw, "type")); typed && folded != kind && known(folded) {
		m.at("type", tolerance.LetterCase)
		kind, raw = folded, jsonrpc.With(raw, "type", jsonrpc.AppendString(nil, folded))
	}
	if !has("type") {
		if kind = m.kindOf(raw, has); kind == "" {
			return unreadable
		}
		m.at("type", tolerance.BlockForm)
		raw = jsonrpc.With(raw, "type", jsonrpc.AppendString(nil, kind))
	} else if typed && !known(kind) {
		return raw
	}
	switch {
	case kind == "text" && !has("text"):
		m.at("text", tolerance.MissingMember)
		raw = jsonrpc.With(raw, "text", []byte(`""`))
	case kind == "resource_link" && !has("name") && has("uri"):
		m.at("name", tolerance.MissingMember)
		raw = jsonrpc.With(raw, "name", jsonrpc.Get(raw, "uri"))
	case (kind == "image" || kind == "audio") && !isText(jsonrpc.Get(raw, "mimeType")):
		if data, mimeType, ok := readBytes(jsonrpc.Get(raw, "data")); ok {
			m.at("mimeType", tolerance.MediaType)
			raw = jsonrpc.With(raw, "mimeType", jsonrpc.AppendString(nil, mediaType(kind, mimeType, data)))
		}
	}
	return m.rest(s, raw)
}

// kindOf derives the type of a block that has none from its members. It returns "" if the type is
// unclear.
func (m *mender) kindOf(raw json.RawMessage, has func(string) bool) string {
	mimeType, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "mimeType"))
	family, _, _ := strings.Cut(mimeType, "/")
	switch {
	case has("data") && (family == "image" || family == "audio") && !has("text") && !has("resource"):
		return family
	case has("resource") && !has("text") && !has("data"):
		return "resource"
	case has("text") && !has("data") && !has("resource"):
		return "text"
	case has("uri") && has("name") && !has("text") && !has("data"):
		return "resource_link"
	}
	return ""
}

func textBlock(quoted []byte) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("type", "text")
	w.Raw("text", quoted)
	return w.Bytes()
}

// leftOut returns a text block that replaces a dropped block and contains the reason.
func leftOut(m *mender, raw json.RawMessage) json.RawMessage {
	kind, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "type"))
	what := "a block of content without a type"
	if known(kind) {
		what = "a block of type " + kind
	}
	why := "it cannot be read"
	if m.fault != "" {
		why = "its member " + m.fault + " is missing or cannot be read"
	}
	return textBlock(jsonrpc.AppendString(nil, "["+what+" is left out: "+why+"]"))
}

// splitMessage splits a message whose content is a list of blocks into messages with one block
// each.
func splitMessage(raw json.RawMessage) (messages []json.RawMessage) {
	list := jsonrpc.Get(raw, "content")
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	role := jsonrpc.Get(raw, "role")
	if len(role) > len(`" assistant "`) { // it cannot be a valid role
		role = nil
	}
	messages = []json.RawMessage{}
	jsonrpc.EachElement(list, func(block []byte) bool { // the block's other members are not copied, as they may be long and would be repeated
		w := jsonrpc.NewObject(make([]byte, 0, len(block)+48))
		if role != nil {
			w.Raw("role", role)
		}
		w.Raw("content", block)
		messages = append(messages, w.Bytes())
		return true
	})
	return messages
}

// hasContents reports whether the contents of a resource have a URI, and either text or blob.
func hasContents(has uint32, _ []byte) bool {
	is := has & (contentsText | contentsBlob)
	return has&contentsURI != 0 && (is == contentsText || is == contentsBlob)
}

// mendContents reads contents of a resource that lack a member, or have both text and blob.
func mendContents(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	if raw[0] == '"' && m.uri != "" {
		m.add(tolerance.BlockForm)
		w := jsonrpc.NewObject(nil)
		w.String("uri", m.uri)
		w.Raw("text", raw)
		return w.Bytes()
	}
	if raw[0] != '{' {
		return nil
	}
	if !isText(jsonrpc.Get(raw, "uri")) && m.uri != "" {
		m.at("uri", tolerance.MissingMember)
		raw = jsonrpc.With(raw, "uri", jsonrpc.AppendString(nil, m.uri))
	}
	text, blob := jsonrpc.Get(raw, "text"), jsonrpc.Get(raw, "blob")
	isNull := func(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }
	switch {
	case isNull(text) && isNull(blob):
		m.at("text", tolerance.MissingMember)
		raw = jsonrpc.With(jsonrpc.Without(raw, "blob"), "text", []byte(`""`))
	case isNull(text) || isNull(blob): // null is dropped with the other members
	case contentsAreText(raw, text, blob):
		m.at("blob", tolerance.MemberLeftOut)
		raw = jsonrpc.Without(raw, "blob")
	default:
		m.at("text", tolerance.MemberLeftOut)
		raw = jsonrpc.Without(raw, "text")
	}
	return m.rest(s, raw)
}

// contentsAreText reports whether contents with both text and blob are text. If one of them is
// empty, the other one counts; otherwise the media type decides.
func contentsAreText(raw, text, blob json.RawMessage) bool {
	data, _, ok := readBytes(blob)
	if !ok || len(data) == 0 || string(text) == `""` {
		return !ok || len(data) == 0
	}
	mimeType, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "mimeType"))
	return mimeType == "" || strings.HasPrefix(mimeType, "text/") || strings.Contains(mimeType, "json") || strings.Contains(mimeType, "xml")
}

// readBytes decodes bytes in any variant of base64, in a data URL, or in a JavaScript array.
// mimeType is the media type in the data URL.
func readBytes(raw json.RawMessage) (data []byte, mimeType string, ok bool) {
	s, quoted := jsonrpc.Unquote(raw)
	if !quoted {
		data, ok = byteArray(raw)
		return data, "", ok
	}
	if rest, is := cutPrefixFold(s, "data:"); is {
		head, body, found := strings.Cut(rest, ",")
		if !found {
			return nil, "", false
		}
		parameters, coded := strings.CutSuffix(strings.ToLower(head), ";base64")
		mimeType, _, _ = strings.Cut(parameters, ";")
		if !coded {
			plain, err := url.PathUnescape(body)
			return []byte(plain), mimeType, err == nil
		}
		s = body
	}
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return data, mimeType, err == nil
}

func cutPrefixFold(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// byteArray decodes an array of numbers, or a Node.js Buffer as JSON.
func byteArray(raw json.RawMessage) (data []byte, ok bool) {
	if len(raw) > 0 && raw[0] == '{' && string(jsonrpc.Get(raw, "type")) == `"Buffer"` {
		raw = jsonrpc.Get(raw, "data")
	}
	var numbers []uint16
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &numbers) != nil {
		return nil, false
	}
	data = make([]byte, len(numbers))
	for i, n := range numbers {
		if n > 0xff {
			return nil, false
		}
		data[i] = byte(n)
	}
	return data, true
}

// mediaType returns the media type of an image or audio block. said is the type in the block.
func mediaType(family, said string, data []byte) string {
	if strings.HasPrefix(said, family+"/") {
		return said
	}
	if found := http.DetectContentType(data); strings.HasPrefix(found, family+"/") {
		return found
	}
	return "application/octet-stream"
}

// Constants with a bit in each byte of a word: the lowest bit, and the highest bit.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// partSize is the size of the first and last parts of long base64 text that are checked byte by
// byte.
const partSize = 4 << 10

// isBase64 reports whether s is base64 in the standard alphabet with padding. Between the first and
// last parts of a long text, it only searches for bytes that other encodings use.
func isBase64(s []byte) bool {
	if len(s)%4 != 0 {
		return false
	}
	for range 2 {
		if n := len(s); n > 0 && s[n-1] == '=' {
			s = s[:n-1]
		}
	}
	if len(s) <= 2*partSize {
		return isAlphabet(s)
	}
	for _, other := range []byte{'-', '_', '\\', ' '} {
		if bytes.IndexByte(s, other) >= 0 {
			return false
		}
	}
	return isAlphabet(s[:partSize]) && isAlphabet(s[len(s)-partSize:])
}

func isAlphabet(s []byte) bool {
	ok := uint64(highBits)
	for ; len(s) >= 8; s = s[8:] {
		x := binary.LittleEndian.Uint64(s)
		y := x | 0x20*lowBits // converts letters to lower case; '+', '/' and digits stay the same
		letters := (y + (0x80-'a')*lowBits) &^ (y + (0x7f-'z')*lowBits)
		digits := (y + (0x80-'/')*lowBits) &^ (y + (0x7f-'9')*lowBits)
		plus := (y + (0x80-'+')*lowBits) &^ (y + (0x7f-'+')*lowBits)
		printable := x + 0x60*lowBits
		ok &= (letters | digits | plus) & printable &^ x & highBits
	}
	for _, c := range s {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '/' <= c && c <= '9' || c == '+') {
			return false
		}
	}
	return ok == highBits
}
