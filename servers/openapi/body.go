package openapi

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

// A body describes the request body of an operation.
type body struct {
	media       string
	description string
	required    bool
	content     part // has a member "schema"; dropped after the tool is made
	encoding    *tree.Object
	files       map[string]bool // properties with bytes
}

// forms lists tests for media types of bodies, from the most to the least expressive.
var forms = []func(media string) bool{
	func(m string) bool { return m == "application/json" },
	isJSON,
	func(m string) bool { return m == formType },
	func(m string) bool { return m == multipartType },
	func(m string) bool { return strings.HasPrefix(m, "text/") },
	func(m string) bool { return true },
}

const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

func isJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	media = strings.TrimSpace(media)
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// bodyOf returns the body of an operation, or nil if it has none. If the body has several types, it
// uses the most expressive.
func (d *document) bodyOf(operation part) (*body, error) {
	if operation.Object.Object("requestBody") == nil {
		return nil, nil
	}
	from, _, err := d.follow(operation.at("requestBody"))
	if err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	medias := from.Object.Object("content").Names()
	for _, is := range forms {
		i := slices.IndexFunc(medias, func(m string) bool { return is(strings.ToLower(m)) })
		if i < 0 {
			continue
		}
		b := &body{media: medias[i], description: from.Text("description"), required: from.True("required"), content: from.at("content").at(medias[i])}
		b.encoding = b.content.Object.Object("encoding")
		if strings.Contains(b.media, "*") {
			b.media = d.mediaWithin(b.media, b.content.at("schema"))
		}
		b.findFiles(d)
		return b, nil
	}
	return nil, nil
}

// mediaWithin returns a media type within a range such as */*, for values of a schema. Strings
// become text if the range allows text, or else bytes. Other values become JSON.
func (d *document) mediaWithin(mediaRange string, schema part) string {
	mediaRange = strings.ToLower(mediaRange)
	schema, _, err := d.follow(schema)
	isString := err != nil || schema.Len() == 0 || slices.Contains(schema.Texts("type"), "string")
	isBytes := err != nil || schema.Len() == 0 || schema.Text("format") == "binary" || schema.Text("contentEncoding") != ""
	switch {
	case strings.HasSuffix(mediaRange, "json"), !isString && (strings.HasPrefix(mediaRange, "*/") || strings.HasPrefix(mediaRange, "application/") || mediaRange == "*"):
		return "application/json"
	case strings.HasPrefix(mediaRange, "text/"), !isBytes && strings.HasPrefix(mediaRange, "*"):
		return "text/plain"
	}
	return "application/octet-stream"
}

// findFiles finds the properties of a form that hold bytes.
func (b *body) findFiles(d *document) {
	b.files = map[string]bool{}
	schema, _, err := d.follow(b.content.at("schema"))
	if err != nil {
		return
	}
	properties := schema.at("properties")
	for _, name := range properties.Names() {
		p, _, err := d.follow(properties.at(name))
		if err != nil {
			continue
		}
		if items := p.at("items"); items.Object != nil {
			if p, _, err = d.follow(items); err != nil {
				continue
			}
		}
		b.files[name] = p.Text("format") == "binary" || p.Text("contentEncoding") != "" || p.Text("contentMediaType") == "application/octet-stream"
	}
}

// schema returns the schema of the argument "body".
func (b *body) schema(c *converter) any {
	if !b.isStructured() {
		out := tree.NewObject("type", "string", "description", strings.TrimSpace(clip(b.description, maxInputText)+" The body, of type "+b.media+"."))
		if !strings.HasPrefix(b.media, "text/") && !strings.HasSuffix(b.media, "xml") {
			out.Set("contentEncoding", "base64")
			out.Set("description", out.Text("description")+" In base64.")
		}
		return out
	}
	schema, _, err := c.d.follow(b.content.at("schema")) // for access to the properties that are files
	if err != nil {
		schema = part{b.content.file, tree.NewObject()}
	}
	out := c.plain(schema, 1)
	if text := clip(b.description, maxInputText); text != "" && !out.Has("description") {
		out.Set("description", text)
	}
	if b.media == multipartType {
		b.markFiles(out.Object("properties"))
	}
	return out
}

// markFiles describes, for each property with bytes, how to pass them.
func (b *body) markFiles(properties *tree.Object) {
	for _, name := range properties.Names() {
		if !b.files[name] {
			continue
		}
		p := properties.Object(name)
		if items := p.Object("items"); items != nil {
			p = items
		}
		if p.Has("$ref") {
			continue
		}
		p.Set("contentEncoding", "base64")
		p.Set("description", strings.TrimSpace(p.Text("description")+" The bytes of a file, in base64."))
	}
}

func (b *body) isStructured() bool {
	media := strings.ToLower(b.media)
	return isJSON(media) || media == formType || media == multipartType
}

// encode returns the encoded body and its media type.
func (b *body) encode(value any) ([]byte, string, error) {
	media := strings.ToLower(b.media)
	switch {
	case isJSON(media):
		return tree.Append(nil, value), b.media, nil
	case media == formType:
		text, err := b.form(value)
		return []byte(text), formType, err
	case media == multipartType:
		return b.multipart(value)
	}
	text, ok := value.(string)
	switch {
	case !ok:
		return nil, "", errors.New("expected a string")
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "xml"):
		return []byte(text), b.media, nil
	}
	data, err := decodeBytes(text)
	return data, b.media, err
}

// form encodes an object as a form. Values that are not plain become JSON, unless the document
// names a style.
func (b *body) form(value any) (string, error) {
	object, ok := value.(*tree.Object)
	if !ok {
		return "", errors.New("expected an object")
	}
	var pairs []string
	for _, name := range object.Names() {
		v := object.Get(name)
		encoding := b.encoding.Object(name)
		style, explode := encoding.Text("style"), true
		if encoding.Has("explode") {
			explode = encoding.True("explode")
		}
		if style == "" {
			style = "form"
			explode = explode || !encoding.Has("explode")
		}
		if !encoding.Has("style") && !encoding.Has("explode") && !encoding.Has("allowReserved") {
			v = plainOrJSON(v)
		}
		more, err := writePairs(name, v, style, explode, escape)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, more...)
	}
	return strings.Join(pairs, "&"), nil
}

// plainOrJSON replaces objects by their JSON, also inside a list.
func plainOrJSON(value any) any {
	switch v := value.(type) {
	case *tree.Object:
		return string(tree.Append(nil, v))
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = e
			switch e.(type) {
			case *tree.Object, []any:
				all[i] = string(tree.Append(nil, e))
			}
		}
		return all
	}
	return value
}

// multipart encodes an object as multipart form data. Each element of a list becomes a part.
func (b *body) multipart(value any) ([]byte, string, error) {
	object, ok := value.(*tree.Object)
	if !ok {
		return nil, "", errors.New("expected an object")
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, name := range object.Names() {
		values, ok := object.Get(name).([]any)
		if !ok {
			values = []any{object.Get(name)}
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			if err := b.onePart(w, name, v); err != nil {
				return nil, "", fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	err := w.Close()
	return out.Bytes(), w.FormDataContentType(), err
}

func (b *body) onePart(w *multipart.Writer, name string, value any) error {
	media, _, _ := strings.Cut(b.encoding.Object(name).Text("contentType"), ",")
	if strings.ContainsAny(media, "*\r\n") {
		media = ""
	}
	text, isText := value.(string)
	disposition := "form-data; name=" + quoteName(name)
	var data []byte
	switch {
	case b.files[name] && isText:
		var err error
		if data, err = decodeBytes(text); err != nil {
			return err
		}
		disposition += "; filename=" + quoteName(name)
		media = cmp.Or(media, "application/octet-stream")
	case isText:
		data = []byte(text)
	default:
		data = tree.Append(nil, value)
		if _, isObject := value.(*tree.Object); isObject && media == "" {
			media = "application/json"
		}
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if media != "" {
		header.Set("Content-Type", strings.TrimSpace(media))
	}
	part, err := w.CreatePart(header)
	if err == nil {
		_, err = part.Write(data)
	}
	return err
}

// quoteName quotes a name as browsers do (RFC 7578, section 2).
func quoteName(name string) string {
	return `"` + strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(name) + `"`
}

// decodeBytes decodes base64, padded or not.
func decodeBytes(text string) ([]byte, error) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
	if err != nil {
		return nil, fmt.Errorf("expected base64: %w", err)
	}
	return data, nil
}
