package everything

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/junction-mcp/junction/mcp"
)

// addContentTools registers one tool for each kind of content.
func addContentTools(s *mcp.Server) {
	for _, t := range []struct {
		name, title, description string
		content                  func() []mcp.Content
	}{
		{"get-image", "Image", "Return a picture (PNG).", func() []mcp.Content {
			return []mcp.Content{mcp.Image(picture(), "image/png")}
		}},
		{"get-audio", "Sound", "Return a sound of a quarter of a second (WAV).", func() []mcp.Content {
			return []mcp.Content{mcp.Audio(toneWAV(), "audio/wav")}
		}},
		{"get-resource", "Embedded resource", "Return a resource inside the result.", func() []mcp.Content {
			return []mcp.Content{mcp.Embed(mcp.TextContents(textURI, "text/plain", resourceText))}
		}},
		{"get-resource-link", "Link to a resource", "Return a link to a resource, which the client can read when it wants to.", func() []mcp.Content {
			return []mcp.Content{mcp.Link(textResource())}
		}},
		{"get-mixed", "Mixed content", "Return every kind of content at once, with annotations about their audience.", mixed},
	} {
		mcp.AddToolWith(s, look(t.name, t.title, t.description), func(context.Context, struct{}) ([]mcp.Content, error) { return t.content(), nil })
	}
}

// mixed returns one block of every kind, with annotations.
func mixed() []mcp.Content {
	user := &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: new(0.4)}
	model := &mcp.Annotations{Audience: []mcp.Role{mcp.RoleAssistant}, Priority: new(1.0), LastModified: "2026-01-02T03:04:05Z"}
	text, picture, sound := mcp.Text("A picture, a sound, a resource and a link follow."), mcp.Image(picture(), "image/png"), mcp.Audio(toneWAV(), "audio/wav")
	text.Annotations, picture.Annotations, sound.Annotations = model, user, user
	return []mcp.Content{text, picture, sound, mcp.Embed(mcp.TextContents(textURI, "text/plain", resourceText)), mcp.Link(textResource())}
}

// picture returns a square of 32 by 32 pixels with a disc in it, as PNG.
func picture() []byte {
	const size = 32
	img := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.White, color.RGBA{R: 0x22, G: 0x66, B: 0xcc, A: 0xff}})
	for y := range size {
		for x := range size {
			if dx, dy := 2*x-size+1, 2*y-size+1; dx*dx+dy*dy < size*size*3/4 {
				img.SetColorIndex(x, y, 1)
			}
		}
	}
	var out bytes.Buffer
	must(png.Encode(&out, img))
	return out.Bytes()
}

// icons returns the picture as an icon that needs no network.
func icons() []mcp.Icon {
	return []mcp.Icon{{Src: "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture()), MIMEType: "image/png", Sizes: []string{"32x32"}}}
}

// toneWAV returns a quarter of a second of 440 Hz as WAV: PCM, mono, 8 bit, 8 kHz.
func toneWAV() []byte {
	const rate, samples = 8_000, 2_000
	out := append(make([]byte, 0, 44+samples), "RIFF"...)
	out = binary.LittleEndian.AppendUint32(out, 36+samples)
	out = append(out, "WAVEfmt "...)
	out = binary.LittleEndian.AppendUint32(out, 16) // size of the format
	out = binary.LittleEndian.AppendUint16(out, 1)  // PCM
	out = binary.LittleEndian.AppendUint16(out, 1)  // channels
	out = binary.LittleEndian.AppendUint32(out, rate)
	out = binary.LittleEndian.AppendUint32(out, rate) // bytes per second
	out = binary.LittleEndian.AppendUint16(out, 1)    // bytes per sample
	out = binary.LittleEndian.AppendUint16(out, 8)    // bits per sample
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, samples)
	for i := range samples {
		out = append(out, byte(128+math.Round(100*math.Sin(2*math.Pi*440*float64(i)/rate))))
	}
	return out
}
