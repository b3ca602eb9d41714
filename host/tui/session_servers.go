package tui

import (
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
)

// What the conversation knows of its servers, and of what the person said about them.

func (a *attached) current() *host.Conversation {
	talk, _ := a.now()
	return talk
}

func (a *attached) Servers() []host.ServerTools          { return a.current().Servers() }
func (a *attached) Tools() []host.ToolInfo               { return a.current().Tools() }
func (a *attached) SetOff(server string, off bool) error { return a.current().SetOff(server, off) }
func (a *attached) Trust(server string, forever bool) error {
	return a.current().Trust(server, forever)
}
func (a *attached) Distrust(server string) error           { return a.current().Distrust(server) }
func (a *attached) Approvals() []guard.Approval            { return a.current().Approvals() }
func (a *attached) Withdraw(approval guard.Approval) error { return a.current().Withdraw(approval) }
