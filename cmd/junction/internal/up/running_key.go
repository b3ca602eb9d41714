package up

import (
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/console/reply"
)

// tellProof answers with the proof for a server; 404 where there is none.
func (v *Served) tellProof(w http.ResponseWriter, r *http.Request) {
	d, ok := v.App.Digests.Of(r.PathValue("name"))
	if !ok {
		reply.Error(w, http.StatusNotFound, errors.New("no server of this name is defined here"))
		return
	}
	folder, err := cli.StatusFolder(v.App.Place)
	var key []byte
	if err == nil {
		key, err = cli.EntryKey(folder, true)
	}
	if err != nil {
		v.App.Logger().Debug("commands use only servers whose entries are shown as a whole", "error", err)
		reply.Error(w, http.StatusNotFound, err)
		return
	}
	_, _ = io.WriteString(w, d.Proof(key, os.Getpid()))
}
