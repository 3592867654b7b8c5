// With the keys that the follower writes.
import fs from 'fs'
import keys from 'keys.js'
import verifier from 'verify.js'

/** Without a heartbeat for this time, in seconds, nobody keeps the keys up to date. */
const maxSilence = 10

function isFollowed() {
  try {
    // Number refuses the end of the line in njs.
    const beat = parseInt(fs.readFileSync(`${process.env.RUN}/keys.js.heartbeat`, 'utf8'), 10)
    return Date.now() / 1000 - beat < maxSilence
  } catch (_) {
    return false
  }
}

function verify(request) {
  if (isFollowed()) verifier.verify(request, Promise.resolve(keys))
  else request.return(503)
}

export default { verify }
