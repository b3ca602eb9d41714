// Package chat has the commands chat, in which a model uses tools, and conversations, for stored
// conversations.
package chat
