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
<p>It was used before, is too old, or belongs to a console that ended. <code>junction console</code> and <code>junction inspect</code> print a
new one when you press Enter in their terminal; in <code>junction chat</code> say <code>/console</code> again; for
<code>junction up --console</code> run <code>junction console</code>.</p>
<p lang="zh">此链接已使用过、已过期，或所属的控制台已结束。在 <code>junction console</code> 或 <code>junction inspect</code> 的终端中按 Enter
键可得到新链接；在 <code>junction chat</code> 中请再次输入 <code>/console</code>；若使用 <code>junction up --console</code>，请运行
<code>junction console</code>。</p>
`
