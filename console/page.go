package console

import (
	"embed"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/junction-mcp/junction/console/reply"
)

// web is the page, without its tests.
//
//go:embed web/*.html web/*.css web/*.js web/*.svg web/words/*.js
var web embed.FS

// kinds are the media types by a file's ending: those of the system's table may be others.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// servePage serves a file of the page.
func servePage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	kind := kinds[path.Ext(name)]
	data, err := web.ReadFile("web/" + name)
	if err != nil || kind == "" {
		reply.Error(w, http.StatusNotFound, errors.New("the console has no such page"))
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data)
}

// serveClosed tells one who was not let in how to get in.
func serveClosed(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, closed)
}

const closed = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Junction</title>
<h1>This link lets nobody in</h1>
<p>It was used before, or belongs to a console that ended. In the terminal in which junction runs, press Enter: it prints
a new one.</p>
<p lang="zh">此链接已使用过，或所属的控制台已结束。请在运行 junction 的终端中按 Enter 键，即可得到新链接。</p>
`
