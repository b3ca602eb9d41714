// Which of the processes that run does what one did that has ended.

/**
 * successor is the process that offers at the endpoint and from the folder of was what that did; of a process that nobody
 * knows any more, the only one that has the server name. It is undefined where there is none, or no telling which it is.
 */
export function successor(all, was, name) {
  const has = (one) => name === '' || (one.servers ?? []).some((server) => server.name === name);
  const fit = all.filter((one) => has(one) && (!was || one.endpoint === was.endpoint && one.folder === was.folder));
  return fit.length === 1 ? fit[0] : undefined;
}
