package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// maxSkillURI is the maximum length in bytes of a URI that is looked up as a file of a skill. The
// lookup tries each of its folders.
const maxSkillURI = 2 << 10

// skillOf returns the skill with this URI, or the innermost skill whose folder contains the URI, or
// nil.
func (o *offer) skillOf(uri string) *owned {
	found := o.found[skillKind.Name]
	if len(uri) > maxSkillURI {
		return nil
	}
	for root := uri; len(found) > 0; {
		if f, ok := found[root+"/SKILL.md"]; ok {
			return &f
		}
		at := strings.LastIndexByte(root, '/')
		if at < 0 {
			return nil
		}
		root = root[:at]
	}
	return nil
}

// withSkills returns the members for whose capabilities has reports true.
func (o *offer) withSkills(has func(mcp.ServerCapabilities) bool) []*member {
	return slices.DeleteFunc(slices.Clone(o.members), func(m *member) bool {
		m.mu.RLock()
		known := m.known
		m.mu.RUnlock()
		var c mcp.ServerCapabilities
		return known == nil || schema.DecodeLoose(known.Capabilities, &c) != nil || !has(c)
	})
}

// getSkill passes skills/get on to the member that lists the skill. If no member lists it, getSkill
// asks each member that has skills, as a list may be incomplete.
func (g *Gateway) getSkill(ctx context.Context, req *mcp.Request, offers *choice) (mcp.Result, error) {
	if err := g.await(ctx); err != nil {
		return mcp.Result{}, err
	}
	uri := uriOf(req)
	o := g.current()
	has := func(m *member) bool { return offers.has(skillKind, uri, m, uri) }
	if f, ok := o.found[skillKind.Name][uri]; ok {
		return askFirst(ctx, req, []*member{f.member}, has, mcp.Errorf(mcp.CodeInvalidParams, "there is no skill at %.200q", uri))
	}
	return askFirst(ctx, req, o.withSkills(skills.Declared), has, mcp.Errorf(mcp.CodeInvalidParams, "there is no skill at %.200q", uri))
}

// readDirectory passes resources/directory/read on to the member whose skill contains the folder.
// If the member does not support the method, the skill's entry is used. A folder outside of all
// skills may belong to any member that supports the method.
func (g *Gateway) readDirectory(ctx context.Context, req *mcp.Request, offers *choice) (mcp.Result, error) {
	if err := g.await(ctx); err != nil {
		return mcp.Result{}, err
	}
	uri := uriOf(req)
	o := g.current()
	able, noFolder := o.withSkills(skills.ReadsDirectories), mcp.Errorf(mcp.CodeInvalidParams, "%.200q is not a folder", uri)
	has := func(m *member) bool { return offers.has(resourceKind, uri, m, uri) }
	f := o.skillOf(uri)
	if f != nil && !offers.has(skillKind, f.original, f.member, f.original) {
		return mcp.Result{}, noFolder
	}
	if f == nil {
		return askFirst(ctx, req, able, has, noFolder)
	}
	if slices.Contains(able, f.member) {
		return askFirst(ctx, req, []*member{f.member}, has, noFolder)
	}
	s := new(skills.Skill)
	if !has(f.member) || s.UnmarshalJSON(f.raw) != nil {
		return mcp.Result{}, noFolder
	}
	return skills.AnswerDirectory(req, s)
}

// askFirst sends the request to members in turn until one knows its subject. If there are no
// members, it returns notFound.
func askFirst(ctx context.Context, req *mcp.Request, members []*member, has func(*member) bool, notFound error) (mcp.Result, error) {
	last := notFound
	for _, m := range members {
		if !has(m) {
			continue
		}
		result, err := m.ask(ctx, req, req)
		if err == nil || !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			return result, err
		}
		last = err
	}
	return mcp.Result{}, last
}

func uriOf(req *mcp.Request) string {
	uri, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri"))
	return uri
}
