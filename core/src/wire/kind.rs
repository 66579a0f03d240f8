//! The types of PDUs, under PCP's names (section 4 of the specification of the wire).

use std::fmt;

/// The type of a PDU; any number can arrive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kind(pub i32);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl Kind {
            $($(#[$doc])* pub const $name: Kind = Kind($code);)*

            /// The name without `PDU_`, for types that have one.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Kind::$name => stringify!($name).strip_prefix("PDU_"),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// A status, either way.
    PDU_ERROR = 0x7000;
    /// Values: a store to an agent, the reply to a fetch from it.
    PDU_RESULT = 0x7001;
    /// Selects instances for the fetches to come.
    PDU_PROFILE = 0x7002;
    /// Asks for values.
    PDU_FETCH = 0x7003;
    /// Asks for a description.
    PDU_DESC_REQ = 0x7004;
    /// A description.
    PDU_DESC = 0x7005;
    /// Asks for instances.
    PDU_INSTANCE_REQ = 0x7006;
    /// Instances.
    PDU_INSTANCE = 0x7007;
    /// Asks for help.
    PDU_TEXT_REQ = 0x7008;
    /// A help text.
    PDU_TEXT = 0x7009;
    /// Never sent by pmcd, and ignored.
    PDU_CONTROL_REQ = 0x700a;
    /// The handshake.
    PDU_CREDS = 0x700c;
    /// Metric identifiers.
    PDU_PMNS_IDS = 0x700d;
    /// Metric names.
    PDU_PMNS_NAMES = 0x700e;
    /// Asks for the names directly below a name.
    PDU_PMNS_CHILD = 0x700f;
    /// Asks for all the names of metrics below a name.
    PDU_PMNS_TRAVERSE = 0x7010;
    /// An attribute of a client.
    PDU_ATTR = 0x7011;
    /// Asks for labels.
    PDU_LABEL_REQ = 0x7012;
    /// Labels.
    PDU_LABEL = 0x7013;
    /// Between clients and pmcd only, as are the rest.
    PDU_HIGHRES_FETCH = 0x7014;
    /// Never sent to an agent.
    PDU_HIGHRES_RESULT = 0x7015;
    /// Never sent to an agent.
    PDU_DESC_IDS = 0x7016;
    /// Never sent to an agent.
    PDU_DESCS = 0x7017;
    /// Between pmlc and pmlogger only, as are the rest.
    PDU_LOG_CONTROL = 0x8000;
    /// Never sent to an agent.
    PDU_LOG_STATUS_V2 = 0x8001;
    /// Never sent to an agent.
    PDU_LOG_REQUEST = 0x8002;
    /// Never sent to an agent.
    PDU_LOG_STATUS = 0x8003;
}

/// The name, or `TYPE-n?` with the number in decimal.
impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.write_str(name),
            None => write!(out, "TYPE-{}?", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MAIN-30: unknown types show their number.
    #[test]
    fn names() {
        assert_eq!(Kind::PDU_FETCH.to_string(), "FETCH");
        assert_eq!(Kind(0x8000).to_string(), "LOG_CONTROL");
        assert_eq!(Kind(0x8003).to_string(), "LOG_STATUS");
        assert_eq!(Kind(0x8004).to_string(), "TYPE-32772?");
        assert_eq!(Kind(0x700b).to_string(), "TYPE-28683?");
        assert_eq!(Kind(-5).to_string(), "TYPE--5?");
    }
}
