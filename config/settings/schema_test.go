package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/junction-mcp/junction/config"
)

func TestTheSchemaForEditorsIsThatOfTheProgram(t *testing.T) {
	var want bytes.Buffer
	if err := json.Indent(&want, config.Schema(), "", "  "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	const path = "../../docs/junction.schema.json"
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("%s is not what Schema returns (%v); UPDATE=1 go test ./config/settings writes it", path, err)
	}
}
