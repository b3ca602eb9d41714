// Package share divides the resources of a process among its callers: how many items each may hold,
// and the order of their turns. A caller is a key ([Key]): the principal of its requests, or else
// its address. A single caller may take much but never keeps others from their share.
package share
