// Package chat has the commands in which a model uses tools: chat, and those of conversations that are
// kept.
package chat
