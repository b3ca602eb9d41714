// The link is used: go on without its token, so that it is in no history.
location.replace('./' + location.hash);
