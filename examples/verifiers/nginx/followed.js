// With the keys that the follower writes.
import keys from 'keys.js'
import verifier from 'verify.js'

export default { verify: (request) => verifier.verify(request, Promise.resolve(keys)) }
