package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// The types of content (schema.ts ContentBlock, SamplingMessageContentBlock).
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResource     = "resource"
	ContentResourceLink = "resource_link"
	ContentToolUse      = "tool_use"    // in sampling only
	ContentToolResult   = "tool_result" // in sampling only
)

// Content is one block of the output of a tool, a prompt or a model. Type decides which other
// fields are used. The functions [Text], [Image], [Audio], [Embed] and [Link] return the most
// common blocks.
type Content struct {
	Type string

	Text     string // for text
	Data     []byte // for image and audio; decoded
	MIMEType string // for image and audio

	Resource *ResourceContents // for resource; the embedded contents
	Link     *Resource         // for resource_link

	ToolUse    *ToolUse    // tool_use
	ToolResult *ToolResult // tool_result

	Annotations *Annotations
	Meta        json.RawMessage // _meta, one JSON object or nil

	// Raw is the whole block if Type is not one of the constants above, so that content of a newer
	// peer is not lost.
	Raw json.RawMessage
}

// Annotations state the audience and the importance of content (schema.ts Annotations).
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`     // 0 (optional) to 1 (required)
	LastModified string   `json:"lastModified,omitempty"` // RFC 3339
}

// A Role is the author of a message: "user" or "assistant".
type Role string

// The roles of schema.ts.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Text returns a block of text.
func Text(text string) Content { return Content{Type: ContentText, Text: text} }

// Textf returns a block of formatted text.
func Textf(format string, args ...any) Content { return Text(fmt.Sprintf(format, args...)) }

// Image returns a block with a picture.
func Image(data []byte, mimeType string) Content {
	return Content{Type: ContentImage, Data: data, MIMEType: mimeType}
}

// Audio returns a block with sound.
func Audio(data []byte, mimeType string) Content {
	return Content{Type: ContentAudio, Data: data, MIMEType: mimeType}
}

// Embed returns a block that holds the contents of a resource.
func Embed(contents ResourceContents) Content {
	return Content{Type: ContentResource, Resource: &contents}
}

// Link returns a block that points to a resource.
func Link(r Resource) Content { return Content{Type: ContentResourceLink, Link: &r} }

// AppendJSON appends the block as JSON.
func (c *Content) AppendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	var err error
	switch c.Type {
	case ContentText:
		w.String("type", c.Type)
		w.String("text", c.Text)
	case ContentImage, ContentAudio:
		w.String("type", c.Type)
		w.Base64("data", c.Data)
		w.String("mimeType", c.MIMEType)
	case ContentResource:
		if c.Resource == nil {
			return nil, fmt.Errorf("content of type %q without Resource", c.Type)
		}
		w.String("type", c.Type)
		err = w.Encoded("resource", c.Resource.appendJSON)
	case ContentResourceLink:
		err = c.writeMembers(&w, c.Link)
	case ContentToolUse:
		err = c.writeMembers(&w, c.ToolUse)
	case ContentToolResult:
		err = c.writeMembers(&w, c.ToolResult)
	default:
		if c.Raw == nil {
			return nil, fmt.Errorf("content of unknown type %q; use mcp.Text, mcp.Image, mcp.Audio, mcp.Embed or mcp.Link", c.Type)
		}
		return append(dst, c.Raw...), nil
	}
	if err == nil && c.Annotations != nil {
		err = schema.EncodeMember(&w, "annotations", c.Annotations)
	}
	if err != nil {
		return nil, err
	}
	writeMeta(&w, c.Meta)
	return w.Bytes(), nil
}

// writeMembers writes the type of the block and the members of the struct details.
func (c *Content) writeMembers(w *jsonrpc.Writer, details any) error {
	w.String("type", c.Type)
	err := w.EncodedMembers(func(dst []byte) ([]byte, error) { return schema.Encode(dst, details) })
	if err != nil {
		return fmt.Errorf("content of type %q: %T: %w", c.Type, details, err)
	}
	return nil
}

// writeMeta writes _meta if it is not empty.
func writeMeta(w *jsonrpc.Writer, meta json.RawMessage) {
	if len(meta) > 0 {
		w.Raw("_meta", meta)
	}
}

// writeContents writes the member content, an array of blocks.
func writeContents(w *jsonrpc.Writer, contents []Content) error {
	return w.Encoded("content", func(dst []byte) ([]byte, error) { return appendContents(dst, contents) })
}

func appendContents(dst []byte, contents []Content) ([]byte, error) {
	w := jsonrpc.NewArray(dst)
	for i := range contents {
		if err := w.EncodedElement(contents[i].AppendJSON); err != nil {
			return nil, err
		}
	}
	return w.Bytes(), nil
}

// MarshalJSON encodes the block.
func (c Content) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil) }

// UnmarshalJSON decodes a block of any type. It stores a block of an unknown type in Raw.
func (c *Content) UnmarshalJSON(data []byte) error {
	var w struct {
		Type        string            `json:"type"`
		Text        string            `json:"text"`
		Data        string            `json:"data"`
		MIMEType    string            `json:"mimeType"`
		Resource    *ResourceContents `json:"resource"`
		Annotations *Annotations      `json:"annotations"`
		Meta        json.RawMessage   `json:"_meta"`
	}
	if err := schema.DecodeLoose(data, &w); err != nil {
		return err
	}
	*c = Content{Type: w.Type, Annotations: w.Annotations, Meta: w.Meta}
	switch w.Type {
	case ContentText:
		c.Text = w.Text
	case ContentImage, ContentAudio:
		decoded, err := decodeBase64(w.Data)
		if err != nil {
			return fmt.Errorf("%s content: data: %w", w.Type, err)
		}
		c.Data, c.MIMEType = decoded, w.MIMEType
	case ContentResource:
		if w.Resource == nil {
			return fmt.Errorf("content of type %q without a resource", w.Type)
		}
		c.Resource = w.Resource
	case ContentResourceLink:
		c.Annotations, c.Meta = nil, nil
		return schema.DecodeLoose(data, &c.Link)
	case ContentToolUse:
		c.Meta = nil
		return schema.DecodeLoose(data, &c.ToolUse)
	case ContentToolResult:
		c.Meta = nil
		return schema.DecodeLoose(data, &c.ToolResult)
	default:
		c.Raw = append(json.RawMessage(nil), data...)
	}
	return nil
}

// decodeBase64 decodes standard base64. It accepts missing padding, which some servers omit.
func decodeBase64(s string) ([]byte, error) {
	if len(s)%4 != 0 {
		return base64.RawStdEncoding.DecodeString(s)
	}
	return base64.StdEncoding.DecodeString(s)
}

// ResourceContents holds the contents of one resource, either text or bytes.
type ResourceContents struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte          // if not nil, the contents are bytes and Text is ignored
	Meta     json.RawMessage // _meta, one JSON object or nil
}

// TextContents returns the contents of a text resource.
func TextContents(uri, mimeType, text string) ResourceContents {
	return ResourceContents{URI: uri, MIMEType: mimeType, Text: text}
}

// BlobContents returns the contents of a binary resource.
func BlobContents(uri, mimeType string, blob []byte) ResourceContents {
	if blob == nil {
		blob = []byte{}
	}
	return ResourceContents{URI: uri, MIMEType: mimeType, Blob: blob}
}

func (r *ResourceContents) appendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.String("uri", r.URI)
	if r.MIMEType != "" {
		w.String("mimeType", r.MIMEType)
	}
	if r.Blob != nil {
		w.Base64("blob", r.Blob)
	} else {
		w.String("text", r.Text)
	}
	writeMeta(&w, r.Meta)
	return w.Bytes(), nil
}

// MarshalJSON encodes the contents.
func (r ResourceContents) MarshalJSON() ([]byte, error) { return r.appendJSON(nil) }

// UnmarshalJSON decodes contents of either kind.
func (r *ResourceContents) UnmarshalJSON(data []byte) error {
	var w struct {
		URI      string          `json:"uri"`
		MIMEType string          `json:"mimeType"`
		Text     string          `json:"text"`
		Blob     *string         `json:"blob"`
		Meta     json.RawMessage `json:"_meta"`
	}
	if err := schema.DecodeLoose(data, &w); err != nil {
		return err
	}
	*r = ResourceContents{URI: w.URI, MIMEType: w.MIMEType, Text: w.Text, Meta: w.Meta}
	if w.Blob == nil {
		return nil
	}
	blob, err := decodeBase64(*w.Blob)
	if err != nil {
		return fmt.Errorf("resource %s: blob: %w", w.URI, err)
	}
	*r = BlobContents(w.URI, w.MIMEType, blob)
	r.Meta = w.Meta
	return nil
}
