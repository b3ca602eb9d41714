package chat_test

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/model"
)

func TestImagesOfOneMomentHaveFilesOfTheirOwn(t *testing.T) {
	clitest.NoState(t)
	paths := map[string]bool{}
	for i := range 20 {
		path, err := chat.SaveMedia((&cli.App{Place: clitest.PlaceOf(t)}), "files", "../paint", model.Media{Type: "image/png", Data: []byte{byte(i)}})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(clitest.In(t, path)); err != nil || len(data) != 1 || data[0] != byte(i) {
			t.Errorf("%s: %v, %v", path, data, err)
		}
		paths[path] = true
	}
	if len(paths) != 20 {
		t.Errorf("20 images are in %d files", len(paths))
	}
}
