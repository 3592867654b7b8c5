import { Stack } from '@mantine/core'
import type { JwtKey } from '../../../../client/src/index.ts'
import { CopyBlock, CopyField } from '../../components/copy.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { QueryResult } from '../../components/states.tsx'
import { localTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { useKey } from '../../keys/queries.ts'

export function KeyDetails({ jwtKey, onClose }: { jwtKey: JwtKey; onClose(): void }) {
  const query = useKey(jwtKey.projectId, jwtKey.id)
  return (
    <Dialog onClose={onClose} title={<UserText>{jwtKey.label}</UserText>} size="lg">
      <QueryResult query={query}>
        {({ id, details, createTime, updateTime, publicKeyPem }) => (
          <Stack gap="sm">
            <CopyField label="kid" value={id} />
            {details.publishedKid !== undefined && (
              <CopyField label="Published kid" value={details.publishedKid} />
            )}
            {details.introducedBy !== undefined && (
              <CopyField label="Introduced by the key" value={details.introducedBy} />
            )}
            <CopyField label="alg of its tokens" value={details.jwsAlgorithm} />
            <CopyField label="Thumbprint (RFC 7638)" value={details.thumbprint} />
            <CopyField label="SHA-256 of the SPKI" value={details.spkiSha256} />
            <CopyField label="Registered" value={localTime(createTime)} />
            <CopyField label="Last updated" value={localTime(updateTime)} />
            <CopyField
              label="Current for all verifiers that honor the cache headers from"
              value={localTime(details.convergedTime)}
            />
            <CopyBlock value={publicKeyPem} name="public key" />
            <CurlHint path={`/projects/${jwtKey.projectId}/jwt-keys/${jwtKey.id}`} />
          </Stack>
        )}
      </QueryResult>
    </Dialog>
  )
}
