// Without a follower: with the keys in PEM, which nginx caches for their max-age, a minute.
import verifier from 'verify.js'

const block = /# kid (.+), alg (\S+)\n-----BEGIN PUBLIC KEY-----([^-]+)-----END/g

function parse(text) {
  const keys = []
  for (let found = block.exec(text); found !== null; found = block.exec(text)) {
    const spki = found[3].replace(/\n/g, '')
    keys.push({ issuer: process.env.ISSUER, kid: found[1], alg: found[2], spki })
  }
  return keys
}

function verify(request) {
  const url = `http://127.0.0.1:${process.env.PORT}/keys.pem`
  verifier.verify(
    request,
    ngx
      .fetch(url)
      .then((reply) => reply.text())
      .then(parse),
  )
}

export default { verify }
