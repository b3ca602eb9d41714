package main

import (
	"context"
	"encoding/base64"

	"github.com/junction-mcp/junction/mcp"
)

// redPixel is a PNG picture of one red pixel, and silence a WAV sound of one sample.
const (
	redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
)

func decoded(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	must(err)
	return data
}

// addContentTools registers the tools that return fixed content.
func addContentTools(s *mcp.Server) {
	image := mcp.Image(decoded(redPixel), "image/png")
	for _, t := range []struct {
		name, description string
		content           []mcp.Content
	}{
		{"test_simple_text", "Returns a text.", []mcp.Content{mcp.Text("This is a simple text response for testing.")}},
		{"test_image_content", "Returns an image.", []mcp.Content{image}},
		{"test_audio_content", "Returns a sound.", []mcp.Content{mcp.Audio(decoded(silence), "audio/wav")}},
		{"test_embedded_resource", "Returns an embedded resource.", []mcp.Content{
			mcp.Embed(mcp.TextContents("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		}},
		{"test_multiple_content_types", "Returns text, an image and a resource.", []mcp.Content{
			mcp.Text("Multiple content types test:"),
			image,
			mcp.Embed(mcp.TextContents("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		}},
	} {
		mcp.AddToolWith(s, about(t.name, t.description), func(context.Context, struct{}) ([]mcp.Content, error) { return t.content, nil })
	}
	mcp.AddToolWith(s, about("test_error_handling", "Always fails."), func(context.Context, struct{}) (*mcp.CallToolResult, error) {
		return mcp.ToolError("This tool intentionally returns an error for testing"), nil
	})
}
