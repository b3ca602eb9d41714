package clitest

import (
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

func Said(text string) host.Entry {
	m := model.UserText(text)
	return host.Entry{At: time.Unix(1, 0).UTC(), Message: &m}
}
