import { Modal, Stack } from '@mantine/core'
import type { JwtKey } from '../../../../client/src/index.ts'
import { CopyBlock, CopyField } from '../../components/copy.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { LoadingRows } from '../../components/states.tsx'
import { localTime } from '../../components/times.tsx'
import { useKey } from '../../keys/queries.ts'

/** All that is known of a key. */
export function KeyDetails({ jwtKey, onClose }: { jwtKey: JwtKey; onClose(): void }) {
  const key = useKey(jwtKey.projectId, jwtKey.id)
  return (
    <Modal opened onClose={onClose} title={jwtKey.label} size="lg" lockScroll={false} centered>
      {key.isPending && <LoadingRows />}
      {key.isError && <ErrorNotice error={key.error} retry={() => void key.refetch()} />}
      {key.isSuccess && (
        <Stack gap="sm">
          <CopyField label="kid" value={key.data.id} />
          <CopyField
            label="alg in the header of its tokens"
            value={key.data.details.jwsAlgorithm}
          />
          <CopyField label="Thumbprint (RFC 7638)" value={key.data.details.thumbprint} />
          <CopyField label="SHA-256 of the SPKI" value={key.data.details.spkiSha256} />
          <CopyField label="Registered" value={localTime(key.data.createTime)} />
          <CopyField label="Last change" value={localTime(key.data.updateTime)} />
          <CopyField
            label="Known to every verifier that honours the cache headers from"
            value={localTime(key.data.details.convergedTime)}
          />
          <CopyBlock value={key.data.publicKeyPem} what="public key" />
          <CurlHint path={`/projects/${jwtKey.projectId}/jwt-keys/${jwtKey.id}`} />
        </Stack>
      )}
    </Modal>
  )
}
