// Package skills serves and reads Agent Skills over MCP (extension io.modelcontextprotocol/skills, SEP-2640): folders
// with a SKILL.md that tells a model how to do certain work, and the files that it refers to.
//
// A server adds a tree of such folders with [Add]. Every file becomes a resource, and skills/list, skills/get and
// resources/directory/read answer from what was read of the tree, with the digest and size of each file.
//
// A client gets the entries with [List] or [Get], which read no file, and then reads single files with [Skill.Read]
// when they are needed. What is not what the entry says is an error, [ErrMismatch], and is not returned. A digest comes
// from the server that also serves the file: it shows that both belong together, not that either is to be trusted.
package skills
